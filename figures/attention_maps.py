"""Attention maps of the same network, untrained, as a masked autoencoder, and by contrastive learning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np

from dynamics.attention import Areas, AttentionMetrics, Contrast, ImageModel, Training, attention_metrics, simulate_attention
from dynamics.attention.metrics import areas_of
from dynamics.checks import whole_number
from dynamics.table import Columns, Table, known, stacked
from figures.drawing import Drawing
from figures.plotting import groups, label_outside
from figures.rows import spread
from figures.style import PALETTE, Style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.colors import PowerNorm
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

    from dynamics.features import FloatArray

LABELS = {"untrained": "untrained", "mae": "MAE", "cl": "CL"}

LARGEST = 144
"""Patches of a map, of which the table has the square in every map."""

SHADE = 0.5
"""Power of attention that is seen as shade, so that attention spread over many patches is still seen."""


def draw(
    style: Style,
    *,
    patches: int = 36,
    global_size: Sequence[int] = (24, 8),
    local_size: int = 4,
    masked: float = 0.5,
    clusters: int = 4,
    temperature: float = 0.5,
    query: str = "full",
    steps: int = 200,
    batch: int = 32,
    seed: int = 0,
) -> Drawing:
    """Attention maps of a one-layer ViT: untrained, a masked autoencoder, and contrastive learning, for both signs of Delta.

    Attention of every patch (row) on every patch (column) of an image that nothing hides, patches ordered by area, the global
    area first; trained on images drawn from the model.

    Parameters
    ----------
    patches
        P.
    global_size
        Patches of the global area, a row of maps each; with the local areas it must fill the P patches.
    local_size
        Patches of every local area.
    masked
        Share gamma of the patches that a mask hides in training.
    clusters
        Clusters K of images, 2 or more, each with a partition of its own; the map is of the first.
    temperature
        Of the contrastive loss.
    query
        What queries see under contrastive learning: their ``position``, or their patch as well (``full``).
    steps, batch
        Of gradient descent.
    """
    whole_number("patches", patches, 4, LARGEST)
    whole_number("clusters", clusters, 2)
    models = [ImageModel(Areas(patches, size, local_size).whole(), masked, clusters) for size in dict.fromkeys(global_size)]
    training, contrast = Training(steps=steps, batch=batch), Contrast(temperature)
    table = stacked(
        _map(name, model, attention)
        for model in models
        for name, attention in _maps(model, training, contrast, query, seed).items()
    )
    frame = table.to_dataframe()
    caption = (
        f"Attention of every patch (rows) on every patch (columns) of an image that nothing hides, P = {patches}, in the order"
        f" of areas: the global one, then local ones of {local_size}; lines: ends of areas. Untrained, and after {steps} steps"
        f" of {batch} images, gamma = {masked:g}, K = {clusters}: masked reconstruction (MAE), and contrastive learning (CL,"
        f" temperature {temperature:g}, {query} queries). Diversity: 1 - mean cosine of every row with the mean row, 0 if all"
        f" patches look at the same; it is so before training, too. {' '.join(_told(one) for _, one in groups(frame, 'gap'))}"
    )
    return Drawing(_picture(style, table), table, caption)


def _maps(model: ImageModel, training: Training, contrast: Contrast, query: str, seed: int) -> dict[str, FloatArray]:
    """Attention maps by what the network was trained for."""
    patches = int(model.areas.patches)
    found = {"untrained": np.full((patches, patches), 1.0 / patches)}
    for name in ("mae", "cl"):
        run = simulate_attention(name, model, training=training, contrasted=contrast, query=query, seed=seed, looks=1)
        found[name] = run.attention()
    return found


def _map(name: str, model: ImageModel, attention: FloatArray) -> Table:
    """One row a query and key, and one of metrics."""
    patches, sizes = len(attention), (int(model.areas.global_size), int(model.areas.local_size))
    area = areas_of(patches, *sizes)
    marks: Columns = {"objective": name, "patches": patches, "global_size": sizes[0], "local_size": sizes[1]}
    marks |= {"gap": model.areas.gap}
    query, key = (index.ravel() for index in np.indices(attention.shape))
    cells: Columns = {"query": query, "key": key, "query_area": area[query], "key_area": area[key]}
    cells |= {"attention": attention.ravel()}
    metrics: Columns = {name: known(np.array([one])) for name, one in asdict(attention_metrics(attention, area)).items()}
    return stacked(
        [
            spread("attention", marks | dict.fromkeys(metrics), cells, {}),
            spread("metrics", marks | dict.fromkeys(cells), metrics, {}),
        ]
    )


def _metrics(frame: pd.DataFrame) -> dict[str, AttentionMetrics]:
    """Metrics by what the network was trained for."""
    rows = frame[frame["kind"] == "metrics"]
    names = list(AttentionMetrics.__dataclass_fields__)
    return {str(row["objective"]): AttentionMetrics(**{name: row[name] for name in names}) for _, row in rows.iterrows()}


def _told(frame: pd.DataFrame) -> str:
    """Diversity and masses at one size of the global area."""
    told = [
        f"{LABELS[name]} {max(one.diversity, 0.0):.3f}, {one.local_to_own:.3f} and {one.local_to_global:.3f}"
        for name, one in _metrics(frame).items()
    ]
    return (
        f"Delta = {frame['gap'].iloc[0]:+.2f} (global area of {frame['global_size'].iloc[0]}), diversity, and attention of"
        f" local patches on their own area and on the global one: {'; '.join(told)}."
    )


def _picture(style: Style, table: Table) -> Figure:
    from matplotlib.colors import PowerNorm

    frame = table.to_dataframe()
    cells = frame[frame["kind"] == "attention"]
    norm = PowerNorm(SHADE, 0.0, cells["attention"].astype(float).max())
    with style.context():
        figure, panels = style.panels(
            cells["gap"].nunique(), len(LABELS), aspect=1.0, wide=1.0, turn=True, sharex=True, sharey=True
        )
        for row, (_, of_gap) in zip(panels, groups(frame, "gap"), strict=True):
            for axes, (name, one) in zip(row, _metrics(of_gap).items(), strict=True):
                shown = of_gap[(of_gap["kind"] == "attention") & (of_gap["objective"] == name)]
                image = _draw_map(axes, shown, style, norm)
                axes.set_title(
                    rf"{LABELS[name]}, $\Delta={of_gap['gap'].iloc[0]:+.2f}$"
                    f"\ndiversity {max(one.diversity, 0.0):.2f}\non global {one.local_to_global:.2f}"
                )
        bar = figure.colorbar(image, ax=panels.ravel().tolist())
        bar.set_label("attention")
        label_outside(panels, "key", "query")
    return figure


def _draw_map(axes: Axes, shown: pd.DataFrame, style: Style, norm: PowerNorm) -> AxesImage:
    """A map with the ends of its areas."""
    field = shown.pivot(index="query", columns="key", values="attention").to_numpy(dtype=float)
    area = shown[shown["query"] == 0]["key_area"].to_numpy(dtype=int)
    image = axes.imshow(field, cmap="Greys", norm=norm, interpolation="nearest")
    for end in np.flatnonzero(np.diff(area)) + 0.5:
        for line in (axes.axhline, axes.axvline):
            line(end, color=PALETTE[0], linewidth=style.hair)
    axes.set(xticks=[], yticks=[])
    return image
