"""Finding text, and the uses of names, in files as they are now."""
