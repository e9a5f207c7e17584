// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation, AlwaysUseLowerCamelCase

// Foundation, Dispatch and URLSession are one import on Apple's platforms. This file declares the parts of Apple's
// Foundation that the library uses and swift-corelibs-foundation lacks, with the signatures that Apple documents.

@_exported public import Dispatch
@_exported public import Foundation
@_exported public import FoundationNetworking

public let NSURLSessionDownloadTaskResumeData = "NSURLSessionDownloadTaskResumeData"

// Linux has them, as ones that are unavailable.
public let NSURLAuthenticationMethodClientCertificate = "NSURLAuthenticationMethodClientCertificate"
public let NSURLAuthenticationMethodServerTrust = "NSURLAuthenticationMethodServerTrust"

extension URLSession {
    public var allTasks: [URLSessionTask] {
        get async { fatalError() }
    }
}

extension URLSessionConfiguration {
    // Linux declares it as unavailable.
    public class func background(withIdentifier identifier: String) -> URLSessionConfiguration {
        fatalError()
    }
}

public struct HTTPCookieStringPolicy: RawRepresentable, Hashable, Sendable {
    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    public static let sameSiteLax = HTTPCookieStringPolicy(rawValue: "lax")
    public static let sameSiteStrict = HTTPCookieStringPolicy(rawValue: "strict")
}

extension HTTPCookiePropertyKey {
    public static let sameSitePolicy = HTTPCookiePropertyKey(rawValue: "SameSite")
}

extension HTTPCookie {
    public var sameSitePolicy: HTTPCookieStringPolicy? { fatalError() }
}

extension URLRequest {
    public var allowsExpensiveNetworkAccess: Bool {
        get { fatalError() }
        set { fatalError() }
    }

    public var assumesHTTP3Capable: Bool {
        get { fatalError() }
        set { fatalError() }
    }

    public var allowsConstrainedNetworkAccess: Bool {
        get { fatalError() }
        set { fatalError() }
    }
}
