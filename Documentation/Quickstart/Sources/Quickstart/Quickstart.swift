import Foundation
import Networking

@main
struct Quickstart {
    static let usage = """
        Usage: swift run --package-path Documentation/Quickstart [URL]

          without a URL   starts a server on this machine and shows how to build and use a stack
          with a URL      sends a real GET through the same stack and shows the response
          --help          shows this
        """

    /// The option with which the tour starts this program again; see ``OutboxRestart``.
    static let enqueueOption = "--enqueue-and-end"

    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        do {
            switch (arguments.first, arguments.count) {
            case (nil, _):
                try await Tour.run()
            case ("--help", 1), ("-h", 1):
                print(usage)
            case (enqueueOption, 3):
                try await OutboxRestart.enqueueAndEnd(arguments[1], arguments[2])
            case (let argument?, 1) where argument.hasPrefix("http://") || argument.hasPrefix("https://"):
                try await RealRequest.run(argument)
            default:
                throw UsageError(arguments: arguments)
            }
        } catch {
            fail(error)
        }
    }

    /// Prints an error and exits with a status that scripts can check.
    static func fail(_ error: any Error) -> Never {
        FileHandle.standardError.write(Data("\(error)\n".utf8))
        exit(error is UsageError ? 64 : 1)
    }
}

struct UsageError: Error, CustomStringConvertible {
    let arguments: [String]

    var description: String {
        "\"\(arguments.joined(separator: " "))\" is not an http or https URL. Use --help for the usage."
    }
}
