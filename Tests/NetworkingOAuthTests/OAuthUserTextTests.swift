#if Crypto
import Networking
import TestSupport
import Testing

@testable import NetworkingOAuth

/// The texts of errors of a sign-in for the user of the app.
@Suite
struct OAuthUserTextTests {
    @Test func catalogueHasTheTextsOfTheCode() throws {
        let texts = [OAuthError(.denied, ""), OAuthError(.tokenRefused, "")].map(\.textsByKey)
        #expect(try StringCatalogue().english(of: ["oauth"]) == texts[0].merging(texts[1]) { $1 })
    }

    @Test func deniedSignInHasItsOwnTexts() {
        let error = OAuthError(.denied, "The user declined at https://provider.example.")
        #expect(error.errorDescription == "The sign-in was not allowed.")
        #expect(error.failureReason == "The access was declined.")
        #expect(error.recoverySuggestion == "Sign in again and allow the access.")
    }
}
#endif
