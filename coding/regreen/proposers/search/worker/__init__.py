"""The scripts that run in the project's interpreter. regreen starts them by path and never imports them."""
