"""Which files a repository has, and keeping that right while it changes."""
