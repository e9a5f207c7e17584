#if URLSession
import Foundation
import Networking
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@testable import Networking

@Suite
struct URLSessionErrorsTests {
    @Test(
        arguments: [
            (.timedOut, .timeout),
            (.cannotFindHost, .nameResolution),
            (.dnsLookupFailed, .nameResolution),
            (.cannotConnectToHost, .connection),
            (.notConnectedToInternet, .offline),
            (.networkConnectionLost, .connectionLost),
            (.secureConnectionFailed, .tls),
            (.serverCertificateUntrusted, .tls),
            (.cannotParseResponse, .invalidResponse),
            (.unsupportedURL, .invalidRequest),
            (.dataLengthExceedsMaximum, .invalidRequest),
            (.unknown, .connectionLost),
        ] as [(URLError.Code, NetworkingError.Kind)]
    )
    func eachCodeHasItsKind(code: URLError.Code, kind: NetworkingError.Kind) {
        let request = HTTPRequestData(scheme: "https", authority: "api.example.com")
        let error = request.error(for: URLError(code), after: nil, received: 0)
        #expect(error.kind == kind)
        #expect((error.underlying as? URLError)?.code == code)
        #expect(error.response == nil)
    }

    /// swift-corelibs-foundation has no code of its own for these.
    @Test func whatBreaksAfterTheHeadIsALostConnectionOrATruncatedBody() throws {
        let request = HTTPRequestData(scheme: "https", authority: "api.example.com")
        let endless = try head()
        let lost = request.error(for: URLError(.unknown), after: endless, received: 10)
        #expect(lost.kind == .connectionLost)
        #expect(lost.response?.status == .ok)
        let truncated = request.error(for: URLError(.unknown), after: try head(["Content-Length": "100"]), received: 10)
        #expect(truncated.kind == .truncated)
    }

    private func head(_ fields: [String: String] = [:]) throws -> ReceivedHead {
        let url = try #require(URL(string: "https://api.example.com"))
        let response = try #require(
            HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: fields)
        )
        return try #require(ReceivedHead(response, to: .get))
    }
}
#endif
