#if Crypto
import FoundationForNetworking
import HTTPTypes
import Networking
import NetworkingSigning
import Testing

/// The line that each component adds to the signature base (RFC 9421 section 2).
@Suite(.timeLimit(.minutes(20)))
struct MessageComponentTests {
    /// Returns the line of a component, read from a signature that equals its signature base.
    private func line(_ component: MessageComponent, of request: HTTPRequestData) async throws -> String {
        let signed = try await request.signed(by: MessageSigner(EchoKey(), keyID: "echo", components: [component]))
        let signature = try #require(signed.headerFields[.signature])
        let base = try #require(Data(base64Encoded: String(signature.dropFirst("sig1=:".count).dropLast())))
        return String(decoding: base, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            .joined(separator: "\n")
    }

    private func refusal(of component: MessageComponent, of request: HTTPRequestData) async -> String? {
        let error = await #expect(throws: NetworkingError.self) { try await line(component, of: request) }
        #expect(error?.kind == .invalidRequest)
        return error?.reason
    }

    /// A query with a custom encoding can hold characters that transports have to percent-encode.
    @Test func signsTheTargetAsSent() async throws {
        let signer = MessageSigner(EchoKey(), keyID: "echo", components: [.query, .targetURI, .requestTarget])
        let transport = MockTransport { _ in .ok() }
        let network = transport.signed(with: signer).server(authority: "api.example.com")
            .server(queryEncoding: .allowing("filterxbc[]|"))
        try await network.data(HTTPRequestData(path: "a?filter[x]=b|c"))
        let signature = try #require(transport.requests.last?.headerFields[.signature])
        let base = try #require(Data(base64Encoded: String(signature.dropFirst("sig1=:".count).dropLast())))
        let target = "/a?filter%5Bx%5D=b%7Cc"
        #expect(
            String(decoding: base, as: UTF8.self)
                .hasPrefix(
                    """
                    "@query": ?filter%5Bx%5D=b%7Cc
                    "@target-uri": https://api.example.com\(target)
                    "@request-target": \(target)

                    """
                )
        )
    }

    // MARK: Derived components

    @Test(arguments: [
        (MessageComponent.method, "https://www.example.com/path?param=value", #""@method": GET"#),
        (
            .targetURI, "https://www.example.com/path?param=value",
            #""@target-uri": https://www.example.com/path?param=value"#
        ),
        (.targetURI, "HTTPS://WWW.Example.com:443", #""@target-uri": https://www.example.com/"#),
        (.authority, "https://www.example.com/path", #""@authority": www.example.com"#),
        (.authority, "https://WWW.EXAMPLE.com:443/", #""@authority": www.example.com"#),
        (.authority, "https://www.example.com:80/", #""@authority": www.example.com:80"#),
        (.authority, "http://127.0.0.1:80/", #""@authority": 127.0.0.1"#),
        (.authority, "http://[::1]:8080/", #""@authority": [::1]:8080"#),
        (.scheme, "http://localhost/", #""@scheme": http"#),
        (.requestTarget, "https://www.example.com/path?param=value", #""@request-target": /path?param=value"#),
        (.requestTarget, "https://www.example.com", #""@request-target": /"#),
        (.path, "https://www.example.com/path?param=value", #""@path": /path"#),
        (.path, "https://www.example.com", #""@path": /"#),
        (.path, "https://www.example.com/a%2Fb%7e/", #""@path": /a%2Fb%7e/"#),
        (
            .query, "https://www.example.com/path?param=value&foo=bar&baz=bat%2Dman",
            #""@query": ?param=value&foo=bar&baz=bat%2Dman"#
        ),
        (.query, "https://www.example.com/path?queryString", #""@query": ?queryString"#),
        (.query, "https://www.example.com/path?", #""@query": ?"#),
        (.query, "https://www.example.com/path", #""@query": ?"#),
    ])
    func writesDerivedComponents(component: MessageComponent, url: String, line: String) async throws {
        let request = HTTPRequestData(url: try #require(URL(string: url)))
        #expect(try await self.line(component, of: request) == line)
    }

    @Test func writesTheAsteriskTargetOfOptions() async throws {
        let request = HTTPRequestData(method: .options, authority: "www.example.com", path: "*")
        #expect(try await line(.requestTarget, of: request) == #""@request-target": *"#)
        #expect(try await line(.path, of: request) == #""@path": /"#)
        #expect(try await line(.query, of: request) == #""@query": ?"#)
        #expect(try await line(.targetURI, of: request) == #""@target-uri": https://www.example.com"#)
    }

    @Test func completesRequestsWithoutPathOrScheme() async throws {
        #expect(try await line(.path, of: HTTPRequestData(authority: "a.example")) == #""@path": /"#)
        #expect(try await line(.scheme, of: HTTPRequestData(authority: "a.example")) == #""@scheme": https"#)
        #expect(await refusal(of: .authority, of: HTTPRequestData())?.contains("server(authority:)") == true)
    }

    @Test(arguments: [
        ("param=value&foo=bar&baz=batman&qux=", "baz", #""@query-param";name="baz": batman"#),
        ("param=value&foo=bar&baz=batman&qux=", "qux", #""@query-param";name="qux": "#),
        ("param=value&foo=bar&baz=batman&qux", "qux", #""@query-param";name="qux": "#),
        (
            "var=this%20is%20a%20big%0Amultiline%20value", "var",
            #""@query-param";name="var": this%20is%20a%20big%0Amultiline%20value"#
        ),
        ("bar=with+plus+whitespace", "bar", #""@query-param";name="bar": with%20plus%20whitespace"#),
        (
            "fa%C3%A7ade%22%3A%20=something", "fa\u{E7}ade\": ",
            #""@query-param";name="fa%C3%A7ade%22%3A%20": something"#
        ),
        ("a=1=2&&b=%2b%7E%2a", "a", #""@query-param";name="a": 1%3D2"#),
        ("a=1=2&&b=%2b%7E%2a", "b", #""@query-param";name="b": %2B%7E*"#),
    ])
    func writesQueryParameters(query: String, name: String, line: String) async throws {
        let request = HTTPRequestData(authority: "www.example.com", path: "/path?\(raw: query)")
        #expect(try await self.line(.queryParameter(name), of: request) == line)
    }

    @Test func rejectsMissingAndRepeatedQueryParameters() async {
        let request = HTTPRequestData(authority: "www.example.com", path: "/path?a=1&b=2&%61=3")
        #expect(await refusal(of: .queryParameter("c"), of: request)?.contains("does not have") == true)
        #expect(await refusal(of: .queryParameter("a"), of: request)?.contains("more than once") == true)
        #expect(await refusal(of: .queryParameter("A"), of: request)?.contains("does not have") == true)
    }

    // MARK: Fields

    private var fields: HTTPRequestData {
        HTTPRequestData(
            authority: "www.example.com",
            headerFields: [
                "X-OWS-Header": "  Leading and trailing whitespace. ",
                .cacheControl: "max-age=60", .cacheControl: "    must-revalidate",
                .init(.exampleDictionary): " a=1,    b=2;x=1;y=2,   c=(a   b    c), d",
                .init(.exampleHeader): "value, with, lots", .init(.exampleHeader): "of, commas",
                "X-Empty-Header": "", .acceptLanguage: "gr\u{FC}n",
                .accept: "a;q=0.5,   b", .acceptEncoding: "(unbalanced",
            ]
        )
    }

    @Test func writesFields() async throws {
        let empty = MessageComponent.field(HTTPField.Name("X-Empty-Header")!)
        let blank = MessageComponent.field(HTTPField.Name("X-OWS-Header")!)
        #expect(try await line(empty, of: fields) == #""x-empty-header": "#)
        #expect(try await line(blank, of: fields) == #""x-ows-header": Leading and trailing whitespace."#)
        #expect(try await line(.field(.cacheControl), of: fields) == #""cache-control": max-age=60, must-revalidate"#)
        #expect(
            try await line(.field(.exampleDictionary), of: fields)
                == #""example-dict": a=1,    b=2;x=1;y=2,   c=(a   b    c), d"#
        )
        #expect(
            try await line(.field(.exampleHeader), of: fields) == #""example-header": value, with, lots, of, commas"#
        )
    }

    @Test func writesStructuredFields() async throws {
        let dictionary = MessageComponent.field(.exampleDictionary)
        let line = #""example-dict";sf: a=1, b=2;x=1;y=2, c=(a b c), d"#
        #expect(try await self.line(dictionary.structured(), of: fields) == line)
        #expect(try await self.line(dictionary.structured(as: .dictionary), of: fields) == line)
        #expect(
            try await self.line(.field(.cacheControl).structured(), of: fields)
                == #""cache-control";sf: max-age=60, must-revalidate"#
        )
        #expect(try await self.line(.field(.accept).structured(as: .list), of: fields) == #""accept";sf: a;q=0.5, b"#)
        for component in [dictionary.structured(as: .item), .field(.acceptEncoding).structured()] {
            #expect(await refusal(of: component, of: fields)?.contains("not a structured field") == true)
        }
    }

    @Test func writesMembersOfDictionaries() async throws {
        let dictionary = MessageComponent.field(.exampleDictionary)
        #expect(try await line(dictionary.member("a"), of: fields) == #""example-dict";key="a": 1"#)
        #expect(try await line(dictionary.member("d"), of: fields) == #""example-dict";key="d": ?1"#)
        #expect(try await line(dictionary.member("b"), of: fields) == #""example-dict";key="b": 2;x=1;y=2"#)
        #expect(try await line(dictionary.member("c"), of: fields) == #""example-dict";key="c": (a b c)"#)
        #expect(await refusal(of: dictionary.member("e"), of: fields)?.contains("no such member") == true)
        #expect(
            await refusal(of: .field(.acceptEncoding).member("e"), of: fields)?.contains("not a dictionary") == true
        )
    }

    @Test func writesBinaryFields() async throws {
        let component = MessageComponent.field(.exampleHeader).binary
        #expect(
            try await line(component, of: fields)
                == #""example-header";bs: :dmFsdWUsIHdpdGgsIGxvdHM=:, :b2YsIGNvbW1hcw==:"#
        )
        var joined = fields
        joined.headerFields[.exampleHeader] = "value, with, lots, of, commas"
        #expect(
            try await line(component, of: joined) == #""example-header";bs: :dmFsdWUsIHdpdGgsIGxvdHMsIG9mLCBjb21tYXM=:"#
        )
        #expect(try await line(.field(.acceptLanguage).binary, of: fields) == #""accept-language";bs: :Z3LDvG4=:"#)
        #expect(await refusal(of: .field(.acceptLanguage), of: fields)?.contains(".binary") == true)
        for both in [component.member("a"), component.structured()] {
            #expect(await refusal(of: both, of: fields)?.contains("exclude") == true)
        }
    }

    @Test func signsContentFieldsButNoFieldsAddedByTheTransport() async throws {
        let request = Vectors.request
        #expect(try await line(.contentType, of: request) == #""content-type": application/json"#)
        #expect(try await line(.field(.contentLength), of: request) == #""content-length": 18"#)
        let host = MessageComponent.field(HTTPField.Name("Host")!)
        #expect(await refusal(of: host, of: request)?.contains("@authority") == true)
        #expect(await refusal(of: .field(.userAgent), of: request)?.contains("which is missing") == true)
        #expect(
            await refusal(of: .contentType, of: HTTPRequestData(authority: "a.example"))?
                .contains("which is missing") == true
        )
    }

    // MARK: Invalid components

    @Test func rejectsComponentsOfResponses() async {
        let request = Vectors.request
        #expect(await refusal(of: .status, of: request)?.contains("only a response") == true)
        #expect(await refusal(of: .method.ofRequest, of: request)?.contains("response") == true)
        #expect(await refusal(of: .method.structured(), of: request)?.contains("only for fields") == true)
        #expect(await refusal(of: .path.binary, of: request)?.contains("only for fields") == true)
        #expect(await refusal(of: .path.member("a"), of: request)?.contains("only for fields") == true)
    }

    @Test func rejectsARepeatedComponent() async {
        let signer = MessageSigner(EchoKey(), keyID: "echo", components: [.method, .path, .method])
        let error = await #expect(throws: NetworkingError.self) { try await Vectors.request.signed(by: signer) }
        #expect(error?.reason.contains(#""@method" twice"#) == true)
    }

    @Test func parameterOrderDoesNotAffectEquality() {
        let component = MessageComponent.field(.exampleDictionary)
        #expect(component.member("a").ofRequest == component.ofRequest.member("a"))
        #expect(component.member("a") != component.member("b"))
        #expect(component.member("a").ofRequest.description == #""example-dict";key="a";req"#)
        #expect(component.ofRequest.member("a").description == #""example-dict";req;key="a""#)
        #expect(Set([component.member("a").ofRequest, component.ofRequest.member("a")]).count == 1)
    }
}
#endif
