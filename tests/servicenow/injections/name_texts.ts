/** What callers try where tables, records, links and files are named. */
import { type Attack, linesOf } from "./attack.ts";

const id = "1c".repeat(15) + "01";

export const attacksOnNames: readonly Attack[] = [
  {
    aim: "table",
    texts: linesOf(`
      sys_user_role
      sys_user_has_role
      sys_properties
      sys_script
      sys_script_include
      sys_security_acl
      sys_dictionary
      sys_db_object
      sys_choice
      sys_journal_field
      sys_attachment
      sys_attachment_doc
      sys_audit
      sys_email
      syslog_transaction
      oauth_entity
      oauth_credential
      discovery_credentials
      SYS_USER_ROLE
      sys user role
      sys-user-has-role
      u_facility_request
      item_option_new
      cmn_schedule
      contract_sla
      constructor
      __proto__
      incident/../sys_properties
      incident%2f..%2fsys_properties
      incident?sysparm_query=active=true
      incident.do
      incident;sys_script
      incident,sys_script
      ../oauth_token.do
      ../../api/now/table/sys_user
      /api/now/table/sys_properties
      http://127.0.0.1:1/api
      javascript:gs.x()
      incident^NQ
      task_sla.task
    `),
  },
  {
    aim: "record",
    texts: [
      ...linesOf(`
        INC0010001
        INC0020001
        INC0020010^NQnumber=INC0020001
        INC0010001' OR '1'='1
        inc0010001%00
        INC00100*
        CHG0030001
        PRB0040001
        KB0010015
        SCTASK0010001
        TASK0000000
        XYZ0000001
        ${id}
        ${id.toUpperCase()}
        ${"0".repeat(32)}
        ${"f".repeat(32)}
        -1
        null
        undefined
        global
        d4d4d4d4d4d4d4d4d4d4d4d4d4d4d400
        me^OR
        https://evil.example/incident.do?sys_id=${id}
        //evil.example/incident.do?sys_id=${id}
        javascript:location
        data:text/html,<script>1</script>
        file:///etc/passwd
      `),
    ],
  },
  {
    aim: "path",
    texts: linesOf(`
      /sys_properties.do?sys_id=${id}
      /nav_to.do?uri=sys_user_has_role.do?sys_id=${id}
      /nav_to.do?uri=%2Fincident.do%3Fsys_id%3D${id}
      /now/nav/ui/classic/params/target/sys_script.do%3Fsys_id%3D${id}
      /now/workspace/agent/record/sys_user_role/${id}
      /now/workspace/agent/record/incident/${id}
      /incident.do?sys_id=${id}&table=sys_script
      /incident.do?sys_id=${id}^NQactive=true
      /incident.do?sysparm_query=active=true
      /incident_list.do?sysparm_query=active=true
      /api/now/table/sys_properties
      /api/now/attachment/${id}/file
      /oauth_token.do
      /sys_attachment.do?sys_id=${id}
      /kb_view.do?sysparm_article=KB0010015
      /kb_view.do?sys_kb_id=${id}
      /sp?id=sc_cat_item&sys_id=${id}
      /../incident.do?sys_id=../../oauth_token.do
      /%E0%A4%A
      @evil.example/incident.do?sys_id=${id}
    `),
  },
  {
    aim: "file",
    texts: [
      ...linesOf(`
        ../secret
        ../../etc/passwd
        /etc/passwd
        ..\\..\\secret
        %2e%2e%2fsecret
        file:///etc/passwd
        C:\\secret
        a.txt/../../secret
        .git/config
        a.txt&table_name=sys_user
        a.txt?table_sys_id=${id}
        a"; filename="b.txt
        CON
        a.constructor
      `),
      ...["a.txt\u0000.png", "a.txt\r\nX-Evil: 1", "\u202etxt.exe", "a".repeat(5_000)],
    ],
  },
];
