public import Logging
import NetworkingCore

/// A destination of `logged` other than swift-log, which can keep private text apart from public text.
///
/// On Apple's platforms, the unified log is one (`UnifiedLog`).
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
    /// The minimum level of the records to write.
    var logLevel: Logging.Logger.Level { get }

    /// Writes a record.
    ///
    /// It is called on any thread, for records of ``logLevel`` and above. It should return quickly, because the request
    /// waits for it.
    ///
    /// - Parameter record: The record.
    func write(_ record: LogRecord)
}
