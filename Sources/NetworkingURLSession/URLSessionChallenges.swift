#if URLSession
import Foundation
import NetworkingCore
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension URLProtectionSpace {
    /// Whether a challenge comes from the server as a 401 and asks for the user's credentials, which the stack handles.
    ///
    /// Challenges for certificates, and those of a proxy, belong to the session.
    var isOfServer: Bool {
        switch authenticationMethod {
        case NSURLAuthenticationMethodDefault, NSURLAuthenticationMethodHTTPBasic, NSURLAuthenticationMethodHTTPDigest,
            NSURLAuthenticationMethodHTMLForm, NSURLAuthenticationMethodNTLM, NSURLAuthenticationMethodNegotiate:
            !isProxy()
        default:
            false
        }
    }

    /// Whether Apple documents a challenge as session-wide, so that the session's delegate method is called before the
    /// task's; this applies to certificates, NTLM and Negotiate.
    var isForSession: Bool {
        switch authenticationMethod {
        case NSURLAuthenticationMethodDefault, NSURLAuthenticationMethodHTTPBasic, NSURLAuthenticationMethodHTTPDigest,
            NSURLAuthenticationMethodHTMLForm:
            false
        default:
            true
        }
    }
}
#endif
