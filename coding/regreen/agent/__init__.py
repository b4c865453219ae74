"""The tool-using agent for coding tasks: a state machine (`run`), its loop (`driver`), its tools."""
