import Testing

/// What goes over sockets, one test at a time.
///
/// Side by side, they would share the machine's processors and take longer than any limit of real time allows for.
@Suite(.serialized, .timeLimit(.minutes(5))) enum Loopback {}
