"""Task graphs by dependence pattern, kernel and grain, in the manner of Task Bench."""
