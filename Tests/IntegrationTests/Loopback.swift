import Testing

/// The tests that use sockets, run one at a time.
///
/// In parallel they would compete for the machine's processors and exceed any limit of real time.
@Suite(.serialized, .timeLimit(.minutes(20))) enum Loopback {}
