import Logging
import NetworkingCore

/// The output for the lines of a request.
enum LogOutput: Sendable {
    case logger(Logger)
    case destination(any LogDestination)

    var level: Logger.Level {
        switch self {
        case .logger(let logger): logger.logLevel
        case .destination(let destination): destination.logLevel
        }
    }
}
