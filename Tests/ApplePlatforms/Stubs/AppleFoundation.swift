// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation, AlwaysUseLowerCamelCase

// Foundation, Dispatch and URLSession are one import on Apple's platforms. What Apple's Foundation has and
// swift-corelibs-foundation lacks is declared here when the library uses it, with Apple's documented signature.

@_exported public import Dispatch
@_exported public import Foundation
@_exported public import FoundationNetworking

public let NSURLSessionDownloadTaskResumeData = "NSURLSessionDownloadTaskResumeData"

extension URLSession {
    public var allTasks: [URLSessionTask] {
        get async { fatalError() }
    }
}

extension URLSessionConfiguration {
    // Linux has it, as one that is unavailable.
    public class func background(withIdentifier identifier: String) -> URLSessionConfiguration {
        fatalError()
    }
}

extension URLRequest {
    public var allowsExpensiveNetworkAccess: Bool {
        get { fatalError() }
        set { fatalError() }
    }

    public var allowsConstrainedNetworkAccess: Bool {
        get { fatalError() }
        set { fatalError() }
    }
}
