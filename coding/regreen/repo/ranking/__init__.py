"""Which definitions matter most: a graph of names, ranks on it, and the map as text."""
