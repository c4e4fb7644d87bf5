"""Codemods that give torch-spyre the seams it lacks; see README.md beside this file.

Each module with a `CODEMOD` is one of them, and a program::

    python -m patches.observe_passes --diff PATH
    python -m patches.observe_passes --write PATH
"""
