#if AsyncHTTPClient && TestServer
import Foundation
import HTTPTypes
import Networking
import NetworkingAsyncHTTPClient
import NetworkingTestServer

/// A caching reverse proxy on the loopback address, for clients that test caches over HTTP.
///
/// Arguments: the URL of the origin, and `shared` for a shared cache. It prints its port and ends with its standard
/// input.
@main
enum CachingProxy {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count >= 2, let origin = URL(string: arguments[1]), let host = origin.host() else {
            fatalError("usage: CachingProxy <URL of the origin> [shared]")
        }
        let authority = origin.port.map { "\(host):\($0)" } ?? host
        let transport = AsyncHTTPClientTransport()
        let cache = ResponseCache(isShared: arguments.dropFirst(2).first == "shared")
        let network = AnyNetworkingComponent(transport.cached(in: cache))
        try await withTestServer { server in
            server.dispatch { request in
                await respond(to: request, from: network, scheme: origin.scheme ?? "http", authority: authority)
            }
            FileHandle.standardOutput.write(Data("\(server.port)\n".utf8))
            await endOfInput()
        }
        try await transport.shutdown()
    }

    private static func respond(
        to received: RecordedRequest,
        from network: AnyNetworkingComponent,
        scheme: String,
        authority: String
    ) async -> TestResponse {
        let query = received.query.map { "?\($0)" } ?? ""
        guard let url = URL(string: "\(scheme)://\(authority)\(received.path)\(query)") else {
            return .status(.badRequest)
        }
        var request = HTTPRequestData(method: received.method, url: url)
        for field in received.headerFields.forwarded
        where !["content-length", "host"].contains(field.name.canonicalName) {
            request.headerFields.append(field)
        }
        if !received.body.isEmpty { request.body = .data(received.body) }
        request.redirects = .never
        request.allowsPlaintextCredentials = true
        do {
            let response = try await network.data(request)
            var fields = response.headerFields.forwarded
            // The server sets the length of the body, unless there is no body.
            if received.method != .head, response.status != .notModified { fields[.contentLength] = nil }
            return TestResponse(status: response.status, headerFields: fields, body: .data(response.data))
        } catch {
            return .text("\(error)", status: .badGateway)
        }
    }

    private static func endOfInput() async {
        await withCheckedContinuation { continuation in
            DispatchQueue.global()
                .async {
                    while readLine() != nil {}
                    continuation.resume()
                }
        }
    }
}

extension HTTPFields {
    /// The fields without those of a single connection (RFC 9110, section 7.6.1).
    fileprivate var forwarded: HTTPFields {
        var names: Set<String> = [
            "connection", "expect", "keep-alive", "proxy-connection", "te", "trailer",
            "transfer-encoding", "upgrade",
        ]
        for value in self[values: .connection] {
            names.formUnion(value.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces).lowercased() })
        }
        return HTTPFields(filter { !names.contains($0.name.canonicalName) })
    }
}
#else
@main
enum CachingProxy {
    static func main() {}
}
#endif
