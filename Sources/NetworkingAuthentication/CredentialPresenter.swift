package import NetworkingCore

/// Adds credentials to requests in a form that depends on the request, such as with a proof of possession.
///
/// It is shared by the stacks of a client, and called from any of their tasks.
package protocol CredentialPresenter<Credentials>: Sendable {
    associatedtype Credentials: AuthenticatingCredentials

    /// Returns the scheme of the challenges that credentials respond to; `nil` for any.
    func scheme(of credentials: Credentials) -> String?

    /// Adds credentials to a request that is about to be sent.
    func apply(_ credentials: Credentials, to request: inout HTTPRequestData) throws

    /// Reads what a response of a server that may receive the credentials says about the requests after it.
    func learn(from response: HTTPResponseData, with credentials: Credentials)

    /// Returns whether a refused request may succeed with the same credentials, after ``learn(from:with:)``.
    func asksForRepetition(_ refusal: HTTPResponseData, with credentials: Credentials) -> Bool
}
