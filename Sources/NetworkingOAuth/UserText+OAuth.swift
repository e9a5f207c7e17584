#if Crypto
import Networking

extension UserText {
    /// The texts of this module's errors.
    static let oauth = [deniedSignIn, failedSignIn]

    static let deniedSignIn = UserText(
        key: "oauth.denied",
        description: "The sign-in was not allowed.",
        reason: "The access was declined.",
        suggestion: "Sign in again and allow the access."
    )
    static let failedSignIn = UserText(
        key: "oauth.failed",
        description: "The sign-in failed.",
        reason: "The service for signing in reported a problem.",
        suggestion: "Try to sign in again."
    )
}
#endif
