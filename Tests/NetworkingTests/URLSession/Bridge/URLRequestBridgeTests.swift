#if URLSession
import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite struct URLRequestBridgeTests {
    private func urlRequest(_ text: String = "https://api.example.com/users?page=2") throws -> URLRequest {
        URLRequest(url: try #require(URL(string: text)))
    }

    @Test func sendsAURLRequestThroughTheStack() async throws {
        let transport = MockTransport { _ in
            MockResponse(status: .created, data: Data("Hello".utf8), headerFields: [.eTag: "\"1\""])
        }
        let network = transport.server(headerField: .accept, "text/plain")
        var request = try urlRequest()
        request.httpMethod = "PUT"
        request.httpBody = Data("Emily".utf8)
        request.setValue("text/plain", forHTTPHeaderField: "Content-Type")
        request.setValue("5", forHTTPHeaderField: "Content-Length")
        let (data, response) = try await network.data(for: request)
        #expect(data == Data("Hello".utf8))
        let head = try #require(response as? HTTPURLResponse)
        #expect(head.statusCode == 201)
        #expect(head.value(forHTTPHeaderField: "ETag") == "\"1\"")
        #expect(head.url?.absoluteString == "https://api.example.com/users?page=2")
        let sent = try #require(transport.requests.first)
        #expect(sent.method == .put)
        #expect(sent.url?.absoluteString == "https://api.example.com/users?page=2")
        #expect(sent.body?.data == Data("Emily".utf8))
        #expect(sent.headerFields[.contentType] == "text/plain")
        #expect(sent.headerFields[.accept] == "text/plain")
        #expect(!sent.headerFields.contains(.contentLength))
    }

    @Test func stackCompletesARelativeURL() async throws {
        let transport = MockTransport { _ in .ok() }
        _ = try await transport.server(authority: "example.com").data(for: urlRequest("users/42"))
        #expect(transport.requests.first?.url?.absoluteString == "https://example.com/users/42")
    }

    @Test func repeatedFieldsOfTheResponseAreJoined() async throws {
        let transport = MockTransport { _ in
            var fields = HTTPFields()
            fields.append(HTTPField(name: .vary, value: "Accept"))
            fields.append(HTTPField(name: .vary, value: "Accept-Language"))
            return MockResponse(status: .ok, headerFields: fields)
        }
        let (_, response) = try await transport.data(for: urlRequest())
        let head = try #require(response as? HTTPURLResponse)
        #expect(head.value(forHTTPHeaderField: "Vary") == "Accept, Accept-Language")
    }

    @Test func timeoutAndCachePolicyAreConverted() throws {
        var request = try urlRequest()
        #expect(try HTTPRequestData(urlRequest: request).idleTimeout == nil)
        #expect(try HTTPRequestData(urlRequest: request).headerFields[.cacheControl] == nil)
        request.timeoutInterval = 5
        #expect(try HTTPRequestData(urlRequest: request).idleTimeout == .seconds(5))
        request.timeoutInterval = .infinity
        #expect(try HTTPRequestData(urlRequest: request).idleTimeout == nil)
        request.cachePolicy = .reloadIgnoringLocalCacheData
        #expect(try HTTPRequestData(urlRequest: request).headerFields[.cacheControl] == "no-cache")
        request.cachePolicy = .returnCacheDataElseLoad
        #expect(try HTTPRequestData(urlRequest: request).headerFields[.cacheControl] == "max-stale")
        request.cachePolicy = .returnCacheDataDontLoad
        #expect(try HTTPRequestData(urlRequest: request).headerFields[.cacheControl] == "only-if-cached")
        request.setValue("no-store", forHTTPHeaderField: "Cache-Control")
        #expect(try HTTPRequestData(urlRequest: request).headerFields[.cacheControl] == "no-store")
    }

    @Test func inputStreamAndAnInvalidMethodAreRefused() async throws {
        var streamed = try urlRequest()
        streamed.httpMethod = "POST"
        streamed.httpBodyStream = InputStream(data: Data("Emily".utf8))
        let unencodable = #expect(throws: NetworkingError.self) { try HTTPRequestData(urlRequest: streamed) }
        #expect(unencodable?.kind == .unencodableBody)
        var invalid = try urlRequest()
        invalid.httpMethod = "NOT A METHOD"
        let transport = MockTransport { _ in .ok() }
        let error = await #expect(throws: NetworkingError.self) { try await transport.data(for: invalid) }
        #expect(error?.kind == .invalidRequest)
        #expect(transport.requests.isEmpty)
    }

    @Test func invalidMethodIsATypedError() throws {
        var request = URLRequest(url: try #require(URL(string: "https://a.example")))
        request.httpMethod = "not a method"
        do {
            _ = try HTTPRequestData(urlRequest: request)
            Issue.record("The method is accepted.")
        } catch {
            // The type of the error is known without a cast.
            #expect(error.kind == .invalidRequest)
        }
    }
}
#endif
