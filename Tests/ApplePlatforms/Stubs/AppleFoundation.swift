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
