import Foundation
import Networking

/// Sends a request to the URL in the argument, through the stack of the tour.
enum RealRequest {
    static func run(_ argument: String) async throws {
        guard let url = URL(string: argument) else { throw UsageError(arguments: [argument]) }
        let network = Tour.stack(over: URLSession.shared)
        var request = HTTPRequestData(url: url)
        request.timeout = .seconds(20)
        request.logDetail = .off
        let start = ContinuousClock.now
        let response = try await network.data(request)
        let elapsed = ContinuousClock.now - start

        Terminal.title("\(request)")
        for redirect in response.redirects {
            Terminal.say("redirected by \(redirect.request) (\(redirect.response.status))")
        }
        Terminal.say("\(response.status), \(response.data.count) bytes in \(elapsed)")
        Terminal.title("Header fields")
        for line in HeaderFields(response.headerFields).description.split(separator: "\n") {
            Terminal.say(String(line))
        }
        Terminal.title("Body")
        print(excerpt(of: response.data))
    }

    private static func excerpt(of data: Data) -> String {
        guard let text = String(validating: data.prefix(2_000), as: UTF8.self) else {
            return "  \(data.count) bytes that are not text"
        }
        return data.count > 2_000 ? text + "…" : text
    }
}
