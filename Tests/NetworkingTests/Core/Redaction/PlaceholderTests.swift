import HTTPTypes
import Networking
import Testing

/// The placeholder that replaces a secret.
@Suite
struct PlaceholderTests {
    @Test func secretIsReplacedByThePlaceholder() {
        var request = HTTPRequestData(authority: "api.example.com", path: "/reset/token-1")
        request.headerFields[.authorization] = "Bearer token-2"
        request.markSecret("token-1")
        #expect(Redaction.placeholder == "<redacted>")
        #expect("\(request)".contains("/reset/\(Redaction.placeholder)"))
        let command = request.curl()
        #expect(command.contains("Authorization: \(Redaction.placeholder)"))
        #expect(!command.contains("token-1") && !command.contains("token-2"))
    }
}
