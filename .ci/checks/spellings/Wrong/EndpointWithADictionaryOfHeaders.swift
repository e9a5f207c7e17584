// error: Declare 'var headers: HeaderFields'
import Foundation
import HTTPTypes
import Networking

struct SignIn: Endpoint {
    typealias Response = Void
    let name: String

    var path: RequestPath { "login" }
    var headers: [String: String]? { ["X-User": name] }
}
