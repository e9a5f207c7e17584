#if URLSession
import Foundation
import Networking
import TestSupport
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

import Networking

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
        #expect(error.isHandshakeFailure == (code == .secureConnectionFailed))
        #expect((error.underlying as? URLError)?.code == code)
        #expect(error.response == nil)
    }

    /// swift-corelibs-foundation has no separate code for these failures.
    @Test func failureAfterTheHeadIsALostConnectionOrATruncatedBody() throws {
        let request = HTTPRequestData(scheme: "https", authority: "api.example.com")
        let endless = try head()
        let lost = request.error(for: URLError(.unknown), after: endless, received: 10)
        #expect(lost.kind == .connectionLost)
        #expect(lost.response?.status == .ok)
        let truncated = request.error(for: URLError(.unknown), after: try head(["Content-Length": "100"]), received: 10)
        #expect(truncated.kind == .truncated)
    }

    @Test(arguments: [URLError.Code.cannotConnectToHost, .cannotFindHost, .notConnectedToInternet])
    func failureAfterSentBytesIsALostConnection(code: URLError.Code) {
        let request = HTTPRequestData(scheme: "https", authority: "api.example.com")
        #expect(request.error(for: URLError(code), after: nil, received: 0, wasSent: true).kind == .connectionLost)
    }

    #if canImport(FoundationNetworking)
    /// The code belongs to the last failure and the text to the first one.
    ///
    /// Only both together prove that nothing was sent.
    @Test(
        arguments: [
            (
                .cannotConnectToHost, "Failed to connect to 127.0.0.1 port 9 after 0 ms: Couldn't connect to server",
                .connection
            ),
            (.cannotConnectToHost, "Could not connect to server", .connection),
            (.cannotConnectToHost, "Recv failure: Connection reset by peer", .connectionLost),
            (.cannotConnectToHost, "Send failure: Broken pipe", .connectionLost),
            (.cannotConnectToHost, "transfer closed with 5 bytes remaining to read", .truncated),
            (.cannotFindHost, "Could not resolve host: api.example.com", .nameResolution),
            (.cannotFindHost, "Couldn't resolve host name", .nameResolution),
            (.cannotFindHost, "Recv failure: Connection reset by peer", .connectionLost),
            (.unsupportedURL, "Protocol \"https\" not supported or disabled in libcurl", .invalidRequest),
            (.unsupportedURL, "Received HTTP/0.9 when not allowed", .invalidResponse),
            (.unsupportedURL, "Unsupported HTTP version in response", .invalidResponse),
            (.unsupportedURL, "Recv failure: Connection reset by peer", .invalidResponse),
        ] as [(URLError.Code, String, NetworkingError.Kind)]
    )
    func textOfLibcurlShowsWhetherBytesWereSent(code: URLError.Code, text: String, kind: NetworkingError.Kind) {
        let request = HTTPRequestData(scheme: "https", authority: "api.example.com")
        let failure = URLError(code, userInfo: [NSLocalizedDescriptionKey: text])
        #expect(request.error(for: failure, after: nil, received: 0).kind == kind)
    }
    #endif

    private func head(_ fields: [String: String] = [:]) throws -> ReceivedHead {
        let url = try #require(URL(string: "https://api.example.com"))
        let response = try #require(
            HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: fields)
        )
        return try #require(ReceivedHead(response, to: .get))
    }
}
#endif
