"""What to cite for which command."""

from __future__ import annotations

_ENTRIES = {
    "lindyn": """@software{lindyn,
  title   = {lindyn: learning dynamics of linear self-supervised networks},
  author  = {{The lindyn authors}},
  year    = {2026},
  version = {%s}
}""",
    "jepa": """@inproceedings{littwin2024jepa,
  title     = {How {JEPA} Avoids Noisy Features: The Implicit Bias of Deep Linear Self Distillation Networks},
  author    = {Littwin, Etai and Saremi, Omid and Advani, Madhu and Thilak, Vimal and Nakkiran, Preetum and Huang, Chen
               and Susskind, Joshua},
  booktitle = {Advances in Neural Information Processing Systems},
  year      = {2024},
  eprint    = {2407.03475},
  archiveprefix = {arXiv}
}""",
    "supervised": """@inproceedings{saxe2014exact,
  title     = {Exact solutions to the nonlinear dynamics of learning in deep linear neural networks},
  author    = {Saxe, Andrew M. and McClelland, James L. and Ganguli, Surya},
  booktitle = {International Conference on Learning Representations},
  year      = {2014},
  eprint    = {1312.6120},
  archiveprefix = {arXiv}
}""",
    "balls": """@article{johansson2017arb,
  title   = {Arb: Efficient Arbitrary-Precision Midpoint-Radius Interval Arithmetic},
  author  = {Johansson, Fredrik},
  journal = {IEEE Transactions on Computers},
  volume  = {66},
  number  = {8},
  pages   = {1281--1292},
  year    = {2017}
}""",
    "symbols": """@article{meurer2017sympy,
  title   = {{SymPy}: symbolic computing in {Python}},
  author  = {Meurer, Aaron and Smith, Christopher P. and Paprocki, Mateusz and {\\v{C}}ert{\\'i}k, Ond{\\v{r}}ej and others},
  journal = {PeerJ Computer Science},
  volume  = {3},
  pages   = {e103},
  year    = {2017}
}""",
    "diagonalisation": """@article{cardoso1996jacobi,
  title   = {Jacobi Angles for Simultaneous Diagonalization},
  author  = {Cardoso, Jean-Fran{\\c{c}}ois and Souloumiac, Antoine},
  journal = {SIAM Journal on Matrix Analysis and Applications},
  volume  = {17},
  number  = {1},
  pages   = {161--164},
  year    = {1996}
}""",
    "integration": """@article{virtanen2020scipy,
  title   = {{SciPy} 1.0: fundamental algorithms for scientific computing in {Python}},
  author  = {Virtanen, Pauli and Gommers, Ralf and Oliphant, Travis E. and Haberland, Matt and Reddy, Tyler and others},
  journal = {Nature Methods},
  volume  = {17},
  pages   = {261--272},
  year    = {2020}
}""",
    "optimiser": """@inproceedings{kingma2015adam,
  title     = {Adam: A Method for Stochastic Optimization},
  author    = {Kingma, Diederik P. and Ba, Jimmy},
  booktitle = {International Conference on Learning Representations},
  year      = {2015},
  eprint    = {1412.6980},
  archiveprefix = {arXiv}
}""",
    "rotations": """@article{mezzadri2007generate,
  title   = {How to Generate Random Matrices from the Classical Compact Groups},
  author  = {Mezzadri, Francesco},
  journal = {Notices of the American Mathematical Society},
  volume  = {54},
  number  = {5},
  pages   = {592--604},
  year    = {2007}
}""",
    "multiview": """@inproceedings{agrawal2024small,
  title     = {Harnessing small projectors and multiple views for efficient vision pretraining},
  author    = {Agrawal, Kumar Krishna and Ghosh, Arna and Sodhani, Shagun and Oberman, Adam and Richards, Blake},
  booktitle = {Advances in Neural Information Processing Systems},
  year      = {2024},
  eprint    = {2312.10725},
  archiveprefix = {arXiv}
}""",
    "staircase": """@inproceedings{simon2023stepwise,
  title     = {On the Stepwise Nature of Self-Supervised Learning},
  author    = {Simon, James B. and Knutins, Maksis and Ziyin, Liu and Geisz, Daniel and Fetterman, Abraham J.
               and Albrecht, Joshua},
  booktitle = {International Conference on Machine Learning},
  year      = {2023},
  eprint    = {2303.15438},
  archiveprefix = {arXiv}
}""",
    "byol": """@inproceedings{tian2021understanding,
  title     = {Understanding self-supervised Learning Dynamics without Contrastive Pairs},
  author    = {Tian, Yuandong and Chen, Xinlei and Ganguli, Surya},
  booktitle = {International Conference on Machine Learning},
  year      = {2021},
  eprint    = {2102.06810},
  archiveprefix = {arXiv}
}""",
    "direct-copy": """@misc{wang2021towards,
  title  = {Towards Demystifying Representation Learning with Non-contrastive Self-supervision},
  author = {Wang, Xiang and Chen, Xinlei and Du, Simon S. and Tian, Yuandong},
  year   = {2021},
  eprint = {2110.04947},
  archiveprefix = {arXiv}
}""",
    "iso-loss": """@inproceedings{halvagal2023implicit,
  title     = {Implicit variance regularization in non-contrastive {SSL}},
  author    = {Halvagal, Manu Srinath and Laborieux, Axel and Zenke, Friedemann},
  booktitle = {Advances in Neural Information Processing Systems},
  year      = {2023},
  eprint    = {2212.04858},
  archiveprefix = {arXiv}
}""",
    "spectral-contrastive": """@inproceedings{haochen2021provable,
  title     = {Provable Guarantees for Self-Supervised Deep Learning with Spectral Contrastive Loss},
  author    = {HaoChen, Jeff Z. and Wei, Colin and Gaidon, Adrien and Ma, Tengyu},
  booktitle = {Advances in Neural Information Processing Systems},
  year      = {2021},
  eprint    = {2106.04156},
  archiveprefix = {arXiv}
}""",
    "attention": """@inproceedings{huang2025theoretical,
  title     = {A Theoretical Analysis of Self-Supervised Learning for Vision Transformers},
  author    = {Huang, Yu and Wen, Zixin and Chi, Yuejie and Liang, Yingbin},
  booktitle = {International Conference on Learning Representations},
  year      = {2025},
  eprint    = {2403.02233},
  archiveprefix = {arXiv}
}""",
    "attention-metrics": """@inproceedings{park2023what,
  title     = {What Do Self-Supervised Vision Transformers Learn?},
  author    = {Park, Namuk and Kim, Wonjae and Heo, Byeongho and Kim, Taekyung and Yun, Sangdoo},
  booktitle = {International Conference on Learning Representations},
  year      = {2023},
  eprint    = {2305.00729},
  archiveprefix = {arXiv}
}""",
    "figures": """@article{hunter2007matplotlib,
  title   = {Matplotlib: A 2D Graphics Environment},
  author  = {Hunter, John D.},
  journal = {Computing in Science \\& Engineering},
  volume  = {9},
  number  = {3},
  pages   = {90--95},
  year    = {2007}
}""",
    "cluster": """@inproceedings{rocklin2015dask,
  title     = {Dask: Parallel Computation with Blocked algorithms and Task Scheduling},
  author    = {Rocklin, Matthew},
  booktitle = {Proceedings of the 14th Python in Science Conference},
  pages     = {126--132},
  year      = {2015}
}""",
}

_BEHIND = {
    "critical-time": ("jepa", "supervised", "balls", "integration"),
    "trajectory": ("jepa", "supervised", "integration"),
    "order": ("jepa", "balls"),
    "features": ("jepa", "diagonalisation"),
    "simulate": ("jepa", "supervised", "integration", "optimiser", "rotations", "diagonalisation"),
    "multiview": (
        *("multiview", "staircase", "byol", "direct-copy", "iso-loss", "spectral-contrastive"),
        *("supervised", "integration", "diagonalisation"),
    ),
    "sweep": (
        *("jepa", "supervised", "multiview", "staircase", "byol", "direct-copy", "iso-loss", "spectral-contrastive"),
        *("attention", "attention-metrics", "integration", "optimiser", "rotations", "diagonalisation", "cluster"),
    ),
    "sweep-table": (),
    "attention": ("attention", "attention-metrics", "integration", "optimiser"),
    "figure": ("jepa", "supervised", "multiview", "staircase", "integration", "figures", "rotations", "diagonalisation"),
    "derive": ("jepa", "supervised", "symbols", "balls"),
    "verify": ("jepa", "supervised", "multiview", "staircase", "symbols", "balls"),
}


def bibtex(command: str | None = None) -> str:
    """BibTeX of lindyn and of what a command rests on; of everything without a command."""
    from importlib.metadata import version

    keys = _BEHIND.get(command, ()) if command is not None else tuple(key for key in _ENTRIES if key != "lindyn")
    return "\n\n".join([_ENTRIES["lindyn"] % version("lindyn"), *(_ENTRIES[key] for key in keys)])
