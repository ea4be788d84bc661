"""The exercises, one module per lab: labNN.py with a list EXERCISES."""
