"""Editor configuration: translation only."""
