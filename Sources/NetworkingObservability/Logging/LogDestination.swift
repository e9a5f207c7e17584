public import Logging
import NetworkingCore

/// Where `logged` can write to besides swift-log: what tells text that everybody may read from text that is private.
///
/// On Apple's platforms that is the unified log, `UnifiedLog`.
///
/// ```swift
/// struct Console: LogDestination {
///     let logLevel = Logger.Level.info
///
///     func write(_ record: LogRecord) {
///         print(record.level, record.text)
///     }
/// }
///
/// let network = URLSession.shared.logged(to: Console())
/// ```
public protocol LogDestination: Sendable {
    /// The least important level that it takes.
    var logLevel: Logging.Logger.Level { get }

    /// Writes a record; called for those of ``logLevel`` and above, on any thread. Keep it short: the request waits for
    /// it.
    ///
    /// - Parameter record: What happened.
    func write(_ record: LogRecord)
}
