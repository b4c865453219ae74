"""What the runners of JavaScript share: finding Node and the project's packages, selections, reports, stack traces."""
