"""An adversary of the fix loop: small projects with a known bug, and proposals that try to get past the tests."""
