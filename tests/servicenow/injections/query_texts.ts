/** What callers try where values and fields belong. */
import { type Attack, linesOf } from "./attack.ts";

export const attacksOnQueries: readonly Attack[] = [
  {
    aim: "query",
    texts: [
      ...linesOf(`
        x^ORactive=true
        x^NQactive=true
        x^^NQactive=true
        x^^^NQactive=true
        x^^^^^ORactive=true
        ^ORDERBYnumber
        x^ORDERBYDESCcaller_id.user_password
        x^EQ
        x^EQ^NQactive=true
        x^GROUPBYcaller_id
        x^ORsys_idISNOTEMPTY
        x^ORsys_id!=
        x^ORsys_idSAMEASsys_id
        x^OR1=1
        ^GOTOsys_id>=0
        x^RLQUERYsys_user_has_role.user,>0^ENDRLQUERY
        x^JOINincident.caller_id=sys_user.sys_id!user_name=dora
        x^SUBQUERYsys_id,element_id,sys_journal_field^ENDSUBQUERY
        x^INSTANCEOFtask
        x^caller_idDYNAMIC90d1921e5f510100a9ad2572f2b477fe
        DYNAMIC90d1921e5f510100a9ad2572f2b477fe
        x^assigned_toDYNAMICjavascript:gs.getUserID()
        x^123TEXTQUERY321=stolen
        x^IR_AND_QUERY=stolen
        x^opened_atONToday@javascript:gs.beginningOfToday()@javascript:gs.endOfToday()
        x^opened_atBETWEEN2000-01-01@2099-01-01
        x^opened_atRELATIVEGT@year@ago@99
        x^assignment_group.nameLIKESecurity
        x^caller_id.user_passwordLIKES
        x^ORcaller_id.user_passwordSTARTSWITH{SHA}
        x^ORwork_notesLIKEsecret
        %
        %%
        *
        _
        x'||'1'='1
        x' OR '1'='1
        x"; DROP TABLE incident; --
        x%5EORactive%3Dtrue
        x%255EORactive%253Dtrue
        x&sysparm_query=active=true
        x&sysparm_limit=10000&sysparm_display_value=false
        x#&sysparm_fields=user_password
        x;active=true
        x|active=true
        x,javascript:gs.getUserID()
        x|javascript:gs.getUserID()
        javascript:gs.getUserID()
        JavaScript : gs.getUserName()
        javascript:new GlideRecord('incident').deleteMultiple()
        javascript:gs.getProperty('glide.email.smtp.password')
        javascript&colon;gs.x()
        {{constructor.constructor('return 1')()}}
        \${gs.getUserID()}
        <script>gs.getUserID()</script>
      `),
      ...[
        "x\n^NQactive=true",
        "x\r\n^ORactive=true",
        "x\u0000^ORactive=true",
        "\u200bjavascript:1",
        "java\u0000script:1",
      ],
      ...[
        "\ufeffjavascript:gs.x()",
        "x\u2028^NQactive=true",
        "x\u202e^ORactive=true",
        "x\uff3eORactive=true",
        "\ud800^OR",
      ],
      ...[
        "java\tscript:1",
        " javascript:1",
        "\u00a0javascript:1",
        "x\t^ORactive=true",
        "^".repeat(199),
        "=".repeat(200),
      ],
    ],
  },
  {
    aim: "field",
    texts: linesOf(`
      caller_id.user_password
      caller_id.failed_attempts
      caller_id.manager.user_password
      caller_id.roles
      caller_id.sys_domain.name
      opened_by.locked_out
      assignment_group.roles
      assignment_group.manager.roles
      parent.short_description
      parent.parent.description
      problem_id.first_reported_by_task.description
      sys_domain
      sys_class_name.name
      cmdb_ci.u_admin_password
      cmdb_ci.owned_by.user_password
      variables.password
      variable_pool.password
      ref_sc_req_item.request.description
      ref_cmdb_ci_server.u_admin_password
      u_api_token
      user_password
      password
      __proto__
      constructor
      prototype
      toString
      hasOwnProperty
      __proto__.polluted
      constructor.constructor
      short_description,user_password
      short_description^ORDERBYnumber
      short_description&sysparm_view=admin
      sys_id=1^OR
      1=1
      *
      COUNT(*)
      sysapproval.short_description
      request_item.request.price
      javascript:gs.getUserID()
      number; where
    `),
  },
];
