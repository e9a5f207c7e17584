import HTTPTypes
// The rules are internal. Logs apply them to one name at a time.
import Networking
import Testing

@testable import NetworkingCore

@Suite
struct NameRulesTests {
    @Test(arguments: [
        ("*token", "token", true), ("*token", "access_token", true), ("*token", "tokens", false),
        ("*token", "oken", false), ("x-*-token", "x-vault-token", true), ("x-*-token", "x--token", true),
        ("x-*-token", "x-token", false), ("a*", "a", true), ("a*", "ba", false), ("*", "", true), ("*", "any", true),
        ("*a*b*", "xxaxxbxx", true), ("*a*b*", "ba", false), ("*ab*ab*", "ab", false), ("*ab*ab*", "abab", true),
        ("a*a", "a", false), ("a*a", "aa", true), ("**", "x", true), ("a**b", "ab", true), ("*ü*", "münze", true),
        ("a.b", "axb", false), ("[ab]*", "a", false), ("?*", "a", false),
        ("*ab*b", "ab", false), ("*ab*b", "abb", true), ("x*ab*bc", "xabc", false), ("x*ab*bc", "xabbc", true),
    ])
    func asteriskMatchesAnyCharacters(pattern: String, name: String, isRedacted: Bool) {
        #expect(NameRules(redacting: [pattern]).redacts(name) == isRedacted)
    }

    @Test func namesAreNotCaseSensitive() {
        let rules = NameRules(redacting: ["X-*-TOKEN", "Ticket"])
        #expect(rules.redacts("x-Vault-Token"))
        #expect(rules.redacts("TICKET"))
    }

    @Test func namesPrecedePatternsAndTheLastPatternWins() {
        var rules = NameRules(redacting: ["*token", "id"], showing: ["page*", "my_token"])
        #expect(!rules.redacts("my_token"))
        #expect(!rules.redacts("page_token"))
        rules.set(["*_token"], isRedacted: true)
        #expect(rules.redacts("page_token"))
        #expect(!rules.redacts("my_token"))
        rules.set(["*token"], isRedacted: false)
        #expect(!rules.redacts("page_token"))
        rules.set(["my_token"], isRedacted: true)
        #expect(rules.redacts("my_token"))
        #expect(rules.redacts("id"))
    }

    @Test(arguments: ["user[password]", "password[]", "user[password][0]", "a[b[TOKEN]]"])
    func partOfANameInBracketsIsMatched(name: String) {
        #expect(Redaction.standard.redactsBodyField(name))
    }

    // MARK: The default

    @Test(arguments: [
        "github_token", "githubToken", "X-Token", "botToken", "newPassword", "password_confirmation", "old-passwd",
        "awsSecretAccessKey", "secret_key", "credentials", "google_api_key", "googleApiKey", "privateKeyPem",
        "PHPSESSIONID",
        "user_session_id", "client_jwt", "otp", "walletPassphrase", "secretary_password", "secretaryToken",
    ])
    func defaultRedactsNamesOfSecrets(name: String) {
        #expect(Redaction.standard.redactsQueryItem(name))
        #expect(Redaction.standard.redactsBodyField(name))
    }

    @Test(arguments: [
        "max_tokens", "maxTokens", "total_tokens", "token_type", "tokenCount", "token_count", "nextPageToken",
        "page_token", "secretary", "secretaries", "secretariat", "author", "authors", "coded", "country_code",
        "keyboard", "monkey", "passenger", "passed", "session_count", "spinning", "opinion", "codec", "signal",
    ])
    func defaultShowsNamesThatResembleSecrets(name: String) {
        #expect(!Redaction.standard.redactsQueryItem(name))
        #expect(!Redaction.standard.redactsBodyField(name))
    }

    @Test(
        arguments: [
            ("X-Vault-Token", true), ("Private-Token", true), ("X-Client-Secret", true), ("X-My-Api-Key", true),
            ("X-Forwarded-Authorization", true), ("X-Original-Cookie", true), ("X-RateLimit-Remaining-Tokens", false),
            ("Idempotency-Key", false), ("Sec-WebSocket-Key", false), ("Cookie-Policy", false), ("ETag", false),
            ("X-Request-ID", false),
        ]
    )
    func defaultRedactsHeaderFieldsWithNamesOfSecrets(name: String, isRedacted: Bool) throws {
        let field = HTTPField(name: try #require(HTTPField.Name(name)), value: "x")
        #expect(Redaction.standard.redacts(field) == isRedacted)
    }

    @Test func patternsCanBeAddedAndRemoved() throws {
        let name = try #require(HTTPField.Name("X-Tenant-Seed"))
        let field = HTTPField(name: name, value: "x")
        let redaction = Redaction.standard.addingHeaderFields("X-*-Seed").addingQueryItems("*ticket*")
            .addingBodyFields("iban*").showingBodyFields("code", "*token").showingQueryItems("key")
        #expect(redaction.redacts(field))
        #expect(!redaction.showingHeaderFields("x-tenant-*").redacts(field))
        #expect(redaction.target("/?MyTicketID=x&key=y") == "/?MyTicketID=<redacted>&key=y")
        #expect(redaction.redactsBodyField("ibanNumber"))
        #expect(!redaction.redactsBodyField("code"))
        #expect(!redaction.redactsBodyField("github_token"))
        // The default contains these names, and a name takes precedence over a pattern.
        #expect(redaction.redactsBodyField("access_token"))
        #expect(redaction.redactsQueryItem("code"))
    }
}
