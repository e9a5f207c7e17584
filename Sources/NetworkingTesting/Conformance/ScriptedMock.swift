#if TestServer
import FoundationForNetworking
import HTTPTypes
import NetworkingMocking
import NetworkingCore
import NetworkingTestServer

extension MockTransport {
    /// Creates a transport that responds in process with the script of a server.
    ///
    /// - Parameter server: The server; nothing connects to it.
    convenience init(respondingAs server: TestServer) {
        self.init { request in
            try await MockResponse(await server.response(to: RecordedRequest(request)), to: request)
        }
    }
}

extension RecordedRequest {
    fileprivate init(_ request: HTTPRequestData) {
        let path = request.path ?? "/"
        self.init(method: request.method, target: path, connection: 1)
        query = request.query.encoded
        headerFields = request.headerFields.httpFields
        body = request.body?.data ?? Data()
        bodyByteCount = body.count
    }
}

extension MockResponse {
    fileprivate init(_ response: TestResponse, to request: HTTPRequestData) async throws {
        self.init(
            status: response.status,
            data: try await response.body.bytes(for: request),
            headerFields: response.headerFields
        )
    }
}

extension TestResponse.Body {
    fileprivate func bytes(for request: HTTPRequestData) async throws -> Data {
        switch self {
        case .data(let data):
            return data
        case .chunks(let chunks), .sized(let chunks):
            var data = Data()
            for chunk in chunks {
                try await chunk.gate?.wait()
                data += chunk.data
            }
            return data
        case .echo:
            return request.body?.data ?? Data()
        case .hangUp, .raw:
            throw NetworkingError(.unimplemented, request: request, reason: "A mock has no wire for these bytes.")
        }
    }
}
#endif
