import Testing

/// Tests that start servers or have time limits, one after the other, so that they do not slow each other down.
@Suite(.serialized, .timeLimit(.minutes(20))) enum Servers {}
