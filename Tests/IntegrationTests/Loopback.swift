import Foundation
import Testing

/// The tests that use sockets, run one at a time.
///
/// In parallel they would compete for the machine's processors and exceed any limit of real time.
@Suite(.serialized, .timeLimit(.minutes(20 + 2 * soakMinutes))) enum Loopback {}

/// The length of a soak by hand.
///
/// A suite cannot allow more time than the suite around it.
private let soakMinutes = Int(ProcessInfo.processInfo.environment["SOAK_MINUTES"] ?? "") ?? 0
