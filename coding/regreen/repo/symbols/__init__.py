"""From the bytes of a file to the definitions in it, whatever the language."""
