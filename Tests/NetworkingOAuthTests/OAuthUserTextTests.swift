#if Crypto
import Networking
import TestSupport
import Testing

@testable import NetworkingOAuth

/// The texts of errors of a sign-in for the user of the app.
@Suite
struct OAuthUserTextTests {
    @Test func catalogueHasTheTextsOfTheCode() throws {
        let texts = UserText.oauth.flatMap { text in
            NetworkingError.TextPart.allCases.map { (text.key(of: $0), text.localized($0)) }
        }
        #expect(try StringCatalogue().english(of: ["oauth"]) == Dictionary(uniqueKeysWithValues: texts))
    }

    @Test func deniedSignInHasItsOwnTexts() {
        let error = OAuthError(.denied, "The user declined at https://provider.example.")
        #expect(error.errorDescription == "The sign-in was not allowed.")
        #expect(error.failureReason == "The access was declined.")
        #expect(error.recoverySuggestion == "Sign in again and allow the access.")
    }
}
#endif
