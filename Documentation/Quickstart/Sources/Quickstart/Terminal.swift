import Foundation
import Logging
import Synchronization

/// Prints plain lines.
///
/// In an interactive terminal, titles and code are styled.
enum Terminal {
    private static let isInteractive = isatty(STDOUT_FILENO) == 1

    static func title(_ text: String) {
        print("\n" + styled(text, "1"))
    }

    /// Prints a piece of the tour's code.
    static func code(_ text: String) {
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            print(styled("    \(line)", "36"))
        }
    }

    static func say(_ text: String) {
        print("  \(text)")
    }

    /// Returns a progress bar in an interactive terminal, or a printer of one line for each quarter elsewhere.
    static func bar(_ label: String) -> @Sendable (Double) -> Void {
        let last = Mutex(-1)
        return { fraction in
            let step = Int(fraction * (isInteractive ? 30 : 4))
            let isNew = last.withLock { last in
                defer { last = step }
                return last != step
            }
            guard isNew else { return }
            guard isInteractive else { return say("\(label): \(Int(fraction * 100)) %") }
            let bar = String(repeating: "█", count: step) + String(repeating: "░", count: 30 - step)
            FileHandle.standardOutput.write(Data("\r  \(label) \(bar)\(step == 30 ? "\n" : "")".utf8))
        }
    }

    private static func styled(_ text: String, _ style: String) -> String {
        isInteractive ? "\u{1B}[\(style)m\(text)\u{1B}[0m" : text
    }
}

/// A log handler that prints log lines among the lines of the tour.
struct TerminalLog: LogHandler {
    var logLevel = Logger.Level.info
    var metadata: Logger.Metadata = [:]

    static let logger = Logger(label: "quickstart") { _ in TerminalLog() }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        Terminal.say("│ \(event.level): \(event.message)")
    }
}
