"""Making damaged source, and source that a grammar does not know, readable for its grammar."""
