#if os(Linux) || os(macOS)
import Foundation
import HTTPTypes
import Networking
import NetworkingInspector
import Testing

/// The calls of the logging tests and more: a secret in every place of an HTTP message that may contain one.
enum SecretSession {
    static func send(to inspector: NetworkInspector) async throws {
        let transport = MockTransport([
            .redirect(to: "https://laws.example/next?code=SECRET&state=ok#access_token=SECRET"),
            .json(["access_token": "SECRET", "name": "emily"]),
            .failure(URLError(.badURL, userInfo: ["url": "https://x/?token=SECRET"])),
            .ok(Data("client_secret=SECRET&name=emily".utf8), headerFields: responseFields),
            .status(
                .unauthorized,
                headerFields: [.wwwAuthenticate: "Bearer realm=\"x\"", .setCookie: "id=SECRET; Path=/"]
            ),
        ])
        let network = transport.inspected(by: inspector)
            .server(headerField: .authorization, "Bearer SECRET")
            .server(authority: "laws.example")
        let apiKey = try #require(HTTPField.Name("X-API-Key"))
        var request = HTTPRequestData(
            method: .put,
            path: "login?token=SECRET&access%5Ftoken=SECRET&name=emily",
            headerFields: [
                .cookie: "id=SECRET", .referer: "https://laws.example/?api_key=SECRET", .init(apiKey): "SECRET",
            ],
            body: .form(["password": "SECRET", "user": "emily"])
        )
        _ = try await network.data(request)
        await #expect(throws: URLError.self) { try await network.data(request) }

        request.body = .json(["user": ["name": "emily", "password": "SECRET"]])
        _ = try await network.data(request)
        request.body = .multipart([.text("SECRET", name: "password"), .text("emily", name: "user")])
        _ = try await network.data(request)
        // No response is left in the script, so an error describes the request.
        await #expect(throws: NetworkingError.self) { try await network.data(request) }
    }

    private static let responseFields: HTTPFields = [
        .contentType: "application/x-www-form-urlencoded", .setCookie: "session=SECRET; HttpOnly",
        .location: "/?code=SECRET", .contentLocation: "/?token=SECRET",
    ]

    /// The secrets in a text, each with its context, including base64 and percent-encoded forms.
    static func secrets(in text: String) -> [String] {
        ["SECRET", "U0VDUkVU", "NFQ1JFV", "TRUNSRV", "%53%45%43"]
            .compactMap { secret in
                text.firstRange(of: secret)
                    .map { range in
                        let start =
                            text.index(range.lowerBound, offsetBy: -200, limitedBy: text.startIndex) ?? text.startIndex
                        return "\(text[start..<range.upperBound])"
                    }
            }
    }
}
#endif
