#if Crypto
import NetworkingAuthentication
public import NetworkingCore

extension NetworkingComponent {
    /// Sends requests with the access token of a client, and renews the token when it expires or is rejected.
    ///
    /// ```swift
    /// let network = URLSession.shared
    ///     .timeout(.seconds(10))
    ///     .authenticated(oauth: client)
    ///     .retry()
    ///     .server(authority: "api.example.com")
    /// ```
    ///
    /// In all other respects it behaves like `authenticated(with:)`: its place in a stack, the requests that get a
    /// token, and the handling of a 401. A request that names an authentication method gets the token only if the
    /// method is ``OAuthSystem/authenticationMethod``.
    ///
    /// If the system uses ``OAuthSystem/dpop``, each request also gets a proof for its method and its URL, and this
    /// modifier follows redirects instead of the transport. Place it inside of everything that sends a request again or
    /// changes its URL, also of `server(endpoints:)`.
    ///
    /// - Parameters:
    ///   - client: The client that manages the tokens.
    ///   - authorities: Hosts that receive the token in addition to the stack's server, each with its port unless that
    ///     is the default of the scheme.
    ///   - isExempt: Returns `true` for requests that are sent without a token. It must not have side effects.
    /// - Returns: A component that throws `NetworkingError` of the kind `unauthorized` if no user is signed in or the
    ///   token cannot be renewed. Its underlying error is the ``OAuthError``.
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
            presentedBy: client.system.dpop == .disabled ? nil : DPoPPresenter(proofs: client.service.proofs),
            except: isExempt
        )
    }
}
#endif
