"""Sweeps: grids of runs, on the cores of one machine or on a Dask cluster, kept in a store and resumed where they stopped."""
