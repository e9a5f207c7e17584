#if Crypto
public import Networking

extension NetworkingComponent {
    /// Sends requests with the access token of a client, and has it renewed when it runs out or is refused.
    ///
    /// ```swift
    /// let network = URLSession.shared
    ///     .timeout(.seconds(10))
    ///     .authenticated(oauth: client)
    ///     .retry()
    ///     .server(authority: "api.example.com")
    /// ```
    ///
    /// It is `authenticated(with:)` in all else: where it belongs in a stack, which requests get a token, and what a
    /// 401 leads to. Those that name a method get it when that is the one of the system.
    ///
    /// - Parameters:
    ///   - client: Keeps the tokens.
    ///   - authorities: Hosts, with their ports if those are not the scheme's own, that get it besides the stack's
    ///     server.
    ///   - isExempt: Tells requests that go without. It must not have effects.
    /// - Returns: A component that throws `NetworkingError` of the kind `unauthorized` when nobody is signed in, and
    ///   when the token cannot be renewed, with the ``OAuthError`` beneath.
    public func authenticated(
        oauth client: OAuthClient,
        at authorities: [String] = [],
        except isExempt: (@Sendable (HTTPRequestData) -> Bool)? = nil
    ) -> some NetworkingComponent {
        authenticated(
            with: client.tokens,
            as: client.system.authenticationMethod,
            at: authorities,
            preemptive: true,
            except: isExempt
        )
    }
}
#endif
