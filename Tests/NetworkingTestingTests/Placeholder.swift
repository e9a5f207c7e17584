// The suites of the test kit follow.
