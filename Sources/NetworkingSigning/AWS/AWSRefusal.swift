#if Crypto
import FoundationForNetworking
import HTTPTypes
import NetworkingAuthentication
import NetworkingCore

/// The reason for which a service has refused a request.
struct AWSRefusal {
    /// The error code of the service; `nil` for a response to HEAD, which has no body.
    private let code: String?

    /// Returns whether a status shows that the service has accepted the signature.
    static func isExcluded(by status: HTTPResponse.Status) -> Bool {
        ![400, 403].contains(status.code) && status.showsAcceptance
    }

    /// Parses the code in a field, in JSON or in XML; `nil` if the response is not a refusal.
    init?(_ response: HTTPResponseData) {
        guard [400, 401, 403].contains(response.status.code) else { return nil }
        let body = response.data.prefix(1 << 16)
        code =
            Self.plain(response.headerFields[HTTPField.Name("x-amzn-errortype")!])
            ?? Self.plain(Self.codeOfXML(body)) ?? Self.plain(Self.codeOfJSON(body))
        guard code != nil || response.sentRequest.method == .head else { return nil }
    }

    /// Whether the difference of the clocks may be the reason.
    var mayBeSkew: Bool {
        code.map { Self.codesOfSkew.contains($0) } ?? true
    }

    /// Whether the credentials have expired.
    var isOfCredentials: Bool {
        code == "ExpiredToken" || code == "ExpiredTokenException"
    }

    private static let codesOfSkew: Set<String> = [
        "AuthFailure", "InvalidSignatureException", "RequestExpired", "RequestInTheFuture", "RequestTimeTooSkewed",
        "SignatureDoesNotMatch",
    ]

    /// Returns the code in `namespace#Code:https://…`.
    private static func plain(_ code: (some StringProtocol)?) -> String? {
        guard let code else { return nil }
        let name = code.prefix { $0 != ":" }
        return name.split(separator: "#").last.map { String($0) }
    }

    private static func codeOfXML(_ body: Data) -> Substring? {
        let text = String(decoding: body, as: UTF8.self)[...]
        guard text.first(where: { !$0.isWhitespace }) == "<" else { return nil }
        let parts = text.split(separator: "<Code>", maxSplits: 1)
        return parts.count == 2 ? parts[1].prefix { $0 != "<" } : nil
    }

    private static func codeOfJSON(_ body: Data) -> String? {
        struct Content: Decodable {
            let type: String?
            let code: String?

            enum CodingKeys: String, CodingKey {
                case type = "__type"
                case code
            }
        }
        let content = try? JSONDecoder().decode(Content.self, from: body)
        return content?.type ?? content?.code
    }
}
#endif
