import Foundation
import Networking

/// A transport that returns the same response at once, without copying anything.
struct InstantTransport: NetworkingComponent {
    let response: HTTPResponseData

    init(headerFields: HTTPFields = [:], data: Data = Data()) {
        response = HTTPResponseData(request: HTTPRequestData(), headerFields: headerFields, data: data)
    }

    func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        response
    }
}

/// A transport that returns a cacheable response of 1 KiB.
struct CacheableTransport: NetworkingComponent {
    private static let head = HTTPResponse(
        status: .ok,
        headerFields: [
            .cacheControl: "public, max-age=100000", .eTag: "\"33a64df551425fcc\"", .contentType: "application/json",
            .date: now, .contentLength: "1024", .vary: "Accept-Encoding",
        ]
    )
    /// The response must be fresh on any day on which this runs.
    private static var now: String {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return formatter.string(from: Date())
    }

    private let body = Data(count: 1_024)

    static func entry() -> CachedEntry {
        CachedEntry(response: head, body: Data(count: 1_024), requestDate: Date(), responseDate: Date())
    }

    func send(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        HTTPResponseData(request: request, http: Self.head, body: .collected(body))
    }
}
