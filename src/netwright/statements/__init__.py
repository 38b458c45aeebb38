"""The paper's results, one file or folder for each, named for it."""
