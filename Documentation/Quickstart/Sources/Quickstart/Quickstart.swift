import Foundation
import Networking

@main
struct Quickstart {
    static let usage = """
        Usage: swift run --package-path Documentation/Quickstart [URL]

          without a URL   starts a server on this machine and shows a stack being built and used
          with a URL      sends a real GET through the same stack and shows what comes back
          --help          shows this
        """

    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        do {
            switch (arguments.first, arguments.count) {
            case (nil, _):
                try await Tour.run()
            case ("--help", 1), ("-h", 1):
                print(usage)
            case (let argument?, 1) where argument.hasPrefix("http://") || argument.hasPrefix("https://"):
                try await RealRequest.run(argument)
            default:
                throw UsageError(arguments: arguments)
            }
        } catch {
            fail(error)
        }
    }

    /// One sentence on standard error, and an exit code that scripts can see.
    static func fail(_ error: any Error) -> Never {
        FileHandle.standardError.write(Data("\(error)\n".utf8))
        exit(error is UsageError ? 64 : 1)
    }
}

struct UsageError: Error, CustomStringConvertible {
    let arguments: [String]

    var description: String {
        "\"\(arguments.joined(separator: " "))\" is not one http or https URL; --help tells what this can do."
    }
}
